import{createRequire as __cr}from'node:module';const require=__cr(import.meta.url);
var e=["allocated","reserved","used","host"],n=[...e,"active","inactive","total","free","rss","anon","shmem","cgroup","driver","job","others","processes"];export{e as a,n as b};
