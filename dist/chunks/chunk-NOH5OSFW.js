import{createRequire as __cr}from'node:module';const require=__cr(import.meta.url);
import{b as t}from"./chunk-74BTALFN.js";import{writeFileSync as i}from"node:fs";function w(r,e){try{i(r,e)}catch(o){throw new t("WRITE_FAILED",`${r} cannot be written: ${o.message}`,{kind:"error",where:r})}}export{w as a};
