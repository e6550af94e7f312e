import{createRequire as __cr}from'node:module';const require=__cr(import.meta.url);
import{b as a,c as b,d as c,e as d}from"./chunk-C2JVQJKA.js";import"./chunk-74BTALFN.js";import"./chunk-NYRTOUVY.js";export{a as looksZipped,b as objection,d as readOnlyEntry,c as unpack};
