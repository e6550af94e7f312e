import{createRequire as __cr}from'node:module';const require=__cr(import.meta.url);
import{a,b,c}from"./chunk-YSJRU5J6.js";import"./chunk-WLC7D5RT.js";import"./chunk-JHPG4YHK.js";import"./chunk-PD6UC27A.js";import"./chunk-74BTALFN.js";import"./chunk-EEEC4TXW.js";export{a as SQLITE_MAGIC,b as columnsOfTable,c as readSqlite};
