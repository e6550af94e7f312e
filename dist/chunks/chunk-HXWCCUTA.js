import{createRequire as __cr}from'node:module';const require=__cr(import.meta.url);
import{a as e}from"./chunk-U5UJSTM5.js";function o(n,r,t=`${r}s`){return`${n} ${n===1?r:t}`}function s(n){return n.replace(/[\r\n]+/g," ")}function p(n){return[...e(n,r=>r)].map(([r,{length:t}])=>t===1?r:`${r} (${t} times)`)}export{o as a,s as b,p as c};
