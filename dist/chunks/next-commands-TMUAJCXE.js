import{createRequire as __cr}from'node:module';const require=__cr(import.meta.url);
import{a,b}from"./chunk-OGEX3G3W.js";import"./chunk-UEVGVCXY.js";import"./chunk-VLT75EJP.js";import"./chunk-EEEC4TXW.js";export{a as limitsFor,b as nextCommands};
