import{createRequire as __cr}from'node:module';const require=__cr(import.meta.url);
import{a}from"./chunk-UEVGVCXY.js";import"./chunk-EEEC4TXW.js";export{a as shownPath};
