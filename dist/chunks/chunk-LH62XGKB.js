import{createRequire as __cr}from'node:module';const require=__cr(import.meta.url);
import{a as e}from"./chunk-DVSJSEJJ.js";import{existsSync as s}from"node:fs";import i from"node:path";function f(){let o=e(),r=i.join(o,"probe"),t=i.join(o,"dist","probe");return(import.meta.url.endsWith(".ts")||!s(t))&&s(r)?r:t}export{f as a};
