import { type ConfigChange, definitionChanges, isTighter, policyChanges, scenarioPairs } from "./policy-changes.ts";
import type { ConfigFile, ConfigScenario } from "./schema.ts";

/** A change's configuration as it is judged: measured as the change defines, judged as its base commit defines. */
export interface JudgedConfig {
  readonly config: ConfigFile;
  /** Changed settings: those of the policy are not in force, those of what is measured were not accepted. */
  readonly changes: readonly ConfigChange[];
  /** Scenarios of the base commit that the change has no more. */
  readonly removed: readonly string[];
  /** Scenarios that measure something else than at the base commit. */
  readonly redefined: readonly string[];
  /** Names in the base commit of scenarios that measure the same under another name. */
  readonly renamed: ReadonlyMap<string, string>;
  /** What applies although it is new: scenarios and tighter budgets, one line each. */
  readonly notes: readonly string[];
}

type BudgetSizes = NonNullable<ConfigScenario["budget"]>;

function budgetUnder(base: BudgetSizes, head: BudgetSizes): BudgetSizes {
  const tighter = Object.entries(head).filter(([metric, size]) => isTighter(base[metric as keyof BudgetSizes], size));
  return { ...base, ...Object.fromEntries(tighter) };
}

/** A scenario as the change runs it, judged by the base commit's settings. */
function scenarioUnder(base: ConfigScenario, head: ConfigScenario): ConfigScenario {
  const { budget: own = {}, horizon: _horizon, repeats: _repeats, ignore: _ignore, ...measured } = head;
  const budget = budgetUnder(base.budget ?? {}, own);
  // The same in other words keeps the words that its records know.
  const { name: _name, timeout: _timeout, budget: _budget, ...words } = base;
  return {
    ...measured,
    ...(definitionChanges(base, head).length === 0 ? words : {}),
    ...(base.horizon === undefined ? {} : { horizon: base.horizon }),
    ...(base.repeats === undefined ? {} : { repeats: base.repeats }),
    ...(base.ignore === undefined ? {} : { ignore: base.ignore }),
    ...(Object.keys(budget).length === 0 ? {} : { budget }),
  };
}

function tightened(base: ConfigScenario, head: ConfigScenario): readonly string[] {
  const before: Readonly<Record<string, unknown>> = base.budget ?? {};
  return Object.entries(head.budget ?? {})
    .filter(([metric, size]) => isTighter(before[metric], size))
    .map(([metric, size]) => {
      const was = before[metric] === undefined ? "there was none" : `${before[metric]} before`;
      return `${head.name}: the budget of ${size} for ${metric} is this change's own and applies (${was})`;
    });
}

/**
 * Judge a change by its base commit's settings: budgets, horizon, repeats, what is ignored, baseline and policy are the
 * base's; what is run, in which environment and for how long is the change's; scenarios that are new are wholly its
 * own, and budgets may only get tighter.
 */
export function underBasePolicy(base: ConfigFile, head: ConfigFile): JudgedConfig {
  const { pairs, removed } = scenarioPairs(base, head);
  const { baseline: _baseline, policy: _policy, scenarios: _scenarios, ...own } = head;
  return {
    config: {
      ...own,
      scenarios: pairs.map(({ now, was }) => (was === null ? now : scenarioUnder(was, now))),
      ...(base.baseline === undefined ? {} : { baseline: base.baseline }),
      ...(base.policy === undefined ? {} : { policy: base.policy }),
    },
    changes: policyChanges(base, head),
    removed: removed.map(({ name }) => name),
    redefined: pairs.flatMap(({ now, was }) =>
      was !== null && definitionChanges(was, now).length > 0 ? [now.name] : [],
    ),
    renamed: new Map(
      pairs.flatMap(({ now, was }): [string, string][] =>
        was !== null && was.name !== now.name ? [[now.name, was.name]] : [],
      ),
    ),
    notes: pairs.flatMap(({ now, was }) =>
      was === null ? [`${now.name}: this scenario is new, its settings are this change's own`] : tightened(was, now),
    ),
  };
}
