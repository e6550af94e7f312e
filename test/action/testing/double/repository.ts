import type { Routes } from "./route.ts";

/** Whether the repository is private. */
export function repositoryRoutes(isPrivate: boolean): Routes {
  return {
    "/repos/{owner}/{repo}": {
      GET: ({ contract }) => {
        // The official example lacks a field that its schema requires, here and in its forks.
        const { parent: _parent, source: _source, ...own } = contract.example("full-repository-default-response");
        return { status: 200, body: { ...own, language: null, private: isPrivate } };
      },
    },
  };
}
