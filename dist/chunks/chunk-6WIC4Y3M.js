import{createRequire as __cr}from'node:module';const require=__cr(import.meta.url);
import{a as o}from"./chunk-LICXCVP5.js";var E=Object.keys(o);export{E as a};
