import{createRequire as __cr}from'node:module';const require=__cr(import.meta.url);
import{c as t,g as o,h as n}from"./actions-github-lib-context.js";var x=new t;function s(e,i,...r){let c=o.plugin(...r);return new c(n(e,i))}export{x as a,s as b};
