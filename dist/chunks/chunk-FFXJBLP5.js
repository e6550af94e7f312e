import{createRequire as __cr}from'node:module';const require=__cr(import.meta.url);
import{f as i}from"./chunk-EZCBTIAY.js";import{b as e}from"./chunk-BYNVEYTT.js";import{b as o}from"./chunk-HXWCCUTA.js";function n(r){return e(o(r)).replace(/^(\s*):(?=:)/,"$1∶").replace(/##(?=\[)/g,"#♯")}function m(r){i(n(r))}export{m as a};
