import{createRequire as __cr}from'node:module';const require=__cr(import.meta.url);
import{b as a}from"./chunk-5QKK5SFH.js";import"./chunk-LT24RO74.js";import"./chunk-NECAPWYV.js";import"./chunk-74BTALFN.js";import"./chunk-5I4SKBWJ.js";import"./chunk-NYRTOUVY.js";export{a as renderSummary};
