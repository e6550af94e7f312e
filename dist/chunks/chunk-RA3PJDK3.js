import{createRequire as __cr}from'node:module';const require=__cr(import.meta.url);
var o=["fail","error","unjudged","warn","pass"];function c(r){return o.indexOf(r)}function e(r){return c(r.verdict)+(r.timeline===null?.5:0)}function i(r){return[...r].sort((t,n)=>e(t)-e(n))}function u(r){return i(r.scenarios)[0]??null}export{o as a,c as b,e as c,i as d,u as e};
