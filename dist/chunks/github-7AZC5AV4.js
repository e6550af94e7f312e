import{createRequire as __cr}from'node:module';const require=__cr(import.meta.url);
import{a,b}from"./chunk-RNRN2T56.js";import"./chunk-B3PSFPVV.js";import"./chunk-UVFD7BKE.js";import"./chunk-NYRTOUVY.js";export{a as context,b as getOctokit};
