import{createRequire as __cr}from'node:module';const require=__cr(import.meta.url);
function o(n){return typeof n=="object"&&n!==null&&!Array.isArray(n)}function e(n,r){return typeof n!="object"||n===null?!0:r>0&&Object.values(n).every(t=>e(t,r-1))}export{o as a,e as b};
