import{createRequire as __cr}from'node:module';const require=__cr(import.meta.url);
import{a,b}from"./cli-console-program.js";import"./core-escape.js";import"./core-group-by.js";import"./none.js";export{b as programArgv,a as shownPath};
