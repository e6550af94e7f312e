import{createRequire as __cr}from'node:module';const require=__cr(import.meta.url);
import{g as i}from"./actions-core-lib-command.js";import{b as e}from"./core-escape.js";import{c as o}from"./core-group-by.js";function n(r){return e(o(r)).replace(/^(\s*):(?=:)/,"$1∶").replace(/##(?=\[)/g,"#♯")}function m(r){i(n(r))}export{m as a};
