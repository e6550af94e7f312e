import{createRequire as __cr}from'node:module';const require=__cr(import.meta.url);
import{b as a}from"./chunk-TEAIHSJT.js";import"./chunk-CMNOG3P3.js";import"./chunk-NECAPWYV.js";import"./chunk-74BTALFN.js";import"./chunk-5I4SKBWJ.js";import"./chunk-NYRTOUVY.js";export{a as renderSummary};
