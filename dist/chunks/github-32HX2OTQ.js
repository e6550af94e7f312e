import{createRequire as __cr}from'node:module';const require=__cr(import.meta.url);
import{b as a,c as b}from"./chunk-Q64SFQ7J.js";import"./chunk-UVFD7BKE.js";import"./chunk-K23IHIRF.js";import"./chunk-NYRTOUVY.js";export{a as context,b as getOctokit};
