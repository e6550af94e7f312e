import{createRequire as __cr}from'node:module';const require=__cr(import.meta.url);
import{a as t}from"./chunk-U5UJSTM5.js";function e(i){return[...t(i,r=>r)].map(([r,{length:o}])=>o===1?r:`${r} (${o} times)`)}export{e as a};
