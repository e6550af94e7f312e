import{createRequire as __cr}from'node:module';const require=__cr(import.meta.url);
import{a,b}from"./cli-console-next-commands.js";import"./cli-console-program.js";import"./core-escape.js";import"./core-group-by.js";import"./none.js";export{a as limitsFor,b as nextCommands};
