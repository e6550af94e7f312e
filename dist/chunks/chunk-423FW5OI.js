import{createRequire as __cr}from'node:module';const require=__cr(import.meta.url);
import{b as e}from"./chunk-YGOPTZME.js";function i(r){return e(r.replace(/\r\n?|\n/g," ")).replace(/^(\s*):(?=:)/,"$1∶").replace(/##(?=\[)/g,"#♯")}export{i as a};
