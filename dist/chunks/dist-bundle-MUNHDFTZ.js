import{createRequire as __cr}from'node:module';const require=__cr(import.meta.url);
import{a,b}from"./chunk-MVNTKCRM.js";import"./chunk-ZEQR5G2E.js";import"./chunk-OVLHAGRL.js";import"./chunk-NYRTOUVY.js";export{a as VERSION,b as retry};
