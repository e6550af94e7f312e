import{createRequire as __cr}from'node:module';const require=__cr(import.meta.url);
import{g as o}from"./actions-core-lib-command.js";import{b as i}from"./core-escape.js";import{c as e}from"./core-group-by.js";function n(r){return i(e(r)).replace(/^(\s*):(?=:)/,"$1∶").replace(/##(?=\[)/g,"#♯")}function m(r){o(n(r))}export{m as a};
