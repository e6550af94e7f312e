import{createRequire as __cr}from'node:module';const require=__cr(import.meta.url);
import{a}from"./chunk-Y36KXEDE.js";import"./chunk-45EXPXCI.js";import"./chunk-JFNNHTNU.js";import"./chunk-DBYFKDSQ.js";import"./chunk-O2SINQZH.js";import"./chunk-XVYQNOMF.js";import"./chunk-NECAPWYV.js";import"./chunk-UX336LEI.js";import"./chunk-74BTALFN.js";import"./chunk-NYRTOUVY.js";export{a as measuredRun};
