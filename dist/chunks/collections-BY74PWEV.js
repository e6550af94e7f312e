import{createRequire as __cr}from'node:module';const require=__cr(import.meta.url);
import{a,b,c}from"./chunk-263IVUEG.js";import"./chunk-YCEBTOO5.js";import"./chunk-WLC7D5RT.js";import"./chunk-EEEC4TXW.js";export{b as collectingEnvironment,c as growthMayBeUncollected,a as namesNode};
