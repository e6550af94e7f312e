import{createRequire as __cr}from'node:module';const require=__cr(import.meta.url);
function t(r,n,e=`${n}s`){return`${r} ${r===1?n:e}`}function i(r){return r.replace(/[\r\n]+/g," ")}export{t as a,i as b};
