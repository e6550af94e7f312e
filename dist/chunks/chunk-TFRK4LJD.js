import{createRequire as __cr}from'node:module';const require=__cr(import.meta.url);
var l=["flat","plateau","step","spike","sawtooth","rising","leak","shrink","insufficient","unavailable"];function a({classification:e,severity:n,evidence:r}){return n!=="info"?!1:e==="allocator_slack"?r.leak!=="measured":e==="insufficient_data"||e==="unavailable"}export{l as a,a as b};
