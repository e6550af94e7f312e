import{createRequire as __cr}from'node:module';const require=__cr(import.meta.url);
var t=["csv","events-csv","json","parquet","junit","sarif","html","png"];export{t as a};
