import{createRequire as __cr}from'node:module';const require=__cr(import.meta.url);
import{a,b}from"./chunk-G2DLVLVZ.js";import"./chunk-KX44C6WM.js";import"./chunk-ZEQR5G2E.js";import"./chunk-NYRTOUVY.js";export{a as context,b as getOctokit};
