import{createRequire as __cr}from'node:module';const require=__cr(import.meta.url);
import{a,b}from"./chunk-6U7AHAFI.js";import"./chunk-VU2GMWAN.js";import"./chunk-UVFD7BKE.js";import"./chunk-NYRTOUVY.js";export{a as VERSION,b as retry};
