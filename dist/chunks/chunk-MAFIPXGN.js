import{createRequire as __cr}from'node:module';const require=__cr(import.meta.url);
var o=["fail","error","unjudged","warn","pass"];function i(r){return o.indexOf(r)}function e(r){return i(r.verdict)+(r.timeline===null?.5:0)}function c(r){return[...r].sort((t,n)=>e(t)-e(n))}function p(r){return c(r.scenarios)[0]??null}export{o as a,i as b,e as c,c as d,p as e};
