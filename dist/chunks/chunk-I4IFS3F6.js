import{createRequire as __cr}from'node:module';const require=__cr(import.meta.url);
import{f as i}from"./chunk-WH6WVWRB.js";import{b as e}from"./chunk-X72C6VR4.js";import{b as o}from"./chunk-SMEKOB6Y.js";function n(r){return e(o(r)).replace(/^(\s*):(?=:)/,"$1∶").replace(/##(?=\[)/g,"#♯")}function m(r){i(n(r))}export{m as a};
