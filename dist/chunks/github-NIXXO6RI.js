import{createRequire as __cr}from'node:module';const require=__cr(import.meta.url);
import{a,b}from"./chunk-QFQOBP46.js";import"./chunk-GVPDDZEA.js";import"./chunk-UVFD7BKE.js";import"./chunk-NYRTOUVY.js";export{a as context,b as getOctokit};
