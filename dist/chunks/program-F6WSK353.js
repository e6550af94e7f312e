import{createRequire as __cr}from'node:module';const require=__cr(import.meta.url);
import{a}from"./chunk-DXYQFOF4.js";import"./chunk-HMF4CEVU.js";import"./chunk-VLT75EJP.js";import"./chunk-EEEC4TXW.js";export{a as programWords};
