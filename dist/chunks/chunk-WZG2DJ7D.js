import{createRequire as __cr}from'node:module';const require=__cr(import.meta.url);
function o(e){let{judgement:n,error:r}=e;return e.runs.length>0&&r!==null?{...e,kind:"failed",judgement:n,error:r}:e.runs.length>0&&n!==null?{...e,kind:"judged",judgement:n,error:null}:{...e,kind:"missing",judgement:n,error:r}}export{o as a};
