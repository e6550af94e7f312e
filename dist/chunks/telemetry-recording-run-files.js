import{createRequire as __cr}from'node:module';const require=__cr(import.meta.url);
var o="recording.json",t="samples.parquet",e="samples.rec",p="output.log",r="probe";export{o as a,t as b,e as c,p as d,r as e};
