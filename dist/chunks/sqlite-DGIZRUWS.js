import{createRequire as __cr}from'node:module';const require=__cr(import.meta.url);
import{a,b,c}from"./chunk-LQAGQDTP.js";import"./chunk-WLC7D5RT.js";import"./chunk-AAXQ75TY.js";import"./chunk-7R4MEK4D.js";import"./chunk-ITTMPAFD.js";import"./chunk-EEEC4TXW.js";export{a as SQLITE_MAGIC,b as columnsOfTable,c as readSqlite};
