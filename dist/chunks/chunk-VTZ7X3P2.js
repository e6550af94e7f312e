import{createRequire as __cr}from'node:module';const require=__cr(import.meta.url);
function o(e){let{judgement:r,error:n}=e;return e.runs.length>0&&n!==null?{...e,kind:"failed",judgement:r,error:n}:e.runs.length>0&&r!==null?{...e,kind:"judged",judgement:r,error:null}:{...e,kind:"missing",judgement:r,error:n}}export{o as a};
