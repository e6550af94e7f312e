import{createRequire as __cr}from'node:module';const require=__cr(import.meta.url);
import{a,b,c}from"./chunk-KTWLX3AG.js";import"./chunk-WLC7D5RT.js";import"./chunk-3IHXEBGQ.js";import"./chunk-7R4MEK4D.js";import"./chunk-74BTALFN.js";import"./chunk-EEEC4TXW.js";export{a as SQLITE_MAGIC,b as columnsOfTable,c as readSqlite};
