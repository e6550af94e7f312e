import { type BaselineStore, recordName, type StoredRecord } from "../../baseline/store.ts";

/** A store that is only read: what is written to it is seen in this process alone. */
export function stagedStore(store: BaselineStore): BaselineStore {
  const changed = new Map<string, StoredRecord>();
  return {
    name: store.name,
    kind: store.kind,
    async list(scenario) {
      const content = await store.list(scenario);
      const records = content.records.filter(({ name }) => !changed.has(name));
      return { ...content, records: [...records, ...changed.values()] };
    },
    async update(scenario, fingerprint, change) {
      const name = recordName(scenario, fingerprint);
      const { records } = changed.has(name) ? { records: [] } : await store.list(scenario);
      const current = changed.get(name) ?? records.find((one) => one.name === name);
      const stored = { name, record: change(current?.record ?? null) };
      changed.set(name, stored);
      return stored;
    },
  };
}
