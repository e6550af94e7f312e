import{createRequire as __cr}from'node:module';const require=__cr(import.meta.url);
var e=["flat","plateau","step","spike","sawtooth","rising","leak","shrink","insufficient","unavailable"];export{e as a};
