import{createRequire as __cr}from'node:module';const require=__cr(import.meta.url);
import{a}from"./chunk-ZWBOSFDR.js";import"./chunk-HMF4CEVU.js";import"./chunk-CJOW2IPM.js";import"./chunk-GYRCDFWZ.js";import"./chunk-U5UJSTM5.js";import"./chunk-EEEC4TXW.js";export{a as programArgv};
