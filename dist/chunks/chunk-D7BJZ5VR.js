import{createRequire as __cr}from'node:module';const require=__cr(import.meta.url);
var e=`SLGREC
`;var o={tree:1,process:2,cgroup:3,device:4,deviceProcess:5,processStart:6,processExit:7,error:8,rate:9,stop:10,rollup:11},r={none:0,statm:1,status:2,tree:3,cgroup2:4,cgroup1:5,nvml:6,file:7,fallback:8};export{e as a,o as b,r as c};
