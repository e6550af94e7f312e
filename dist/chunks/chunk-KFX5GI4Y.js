import{createRequire as __cr}from'node:module';const require=__cr(import.meta.url);
import{a as o}from"./chunk-X5JJDOMK.js";var E=Object.keys(o);export{E as a};
