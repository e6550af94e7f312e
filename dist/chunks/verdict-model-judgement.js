import{createRequire as __cr}from'node:module';const require=__cr(import.meta.url);
import{h as n}from"./core-errors.js";function a({kind:e,verdict:r}){switch(e){case"oom":case"budget":return r==="fail";case"peak":case"growth":case"class":return!1;default:return n(e)}}var t={kind:"done"};export{a,t as b};
