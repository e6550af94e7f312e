import{createRequire as __cr}from'node:module';const require=__cr(import.meta.url);
import{b as t,e}from"./chunk-ITTMPAFD.js";import{writeFileSync as n}from"node:fs";function c(r,o){try{n(r,o)}catch(i){throw new t("WRITE_FAILED",`${r} cannot be written: ${e(i)}`,{kind:"error",where:r})}}export{c as a};
