#include "../governor.h"
#include "../sampler.h"
#include "../support/clock.h"
#include "../support/spsc_ring.h"
#include "../support/thread.h"
#include "../tick_schedule.h"
#include "harness.h"

using namespace stormlog;

TEST("a schedule that is on time misses nothing") {
  TickSchedule schedule(1000, 100);
  for (uint64_t now = 1000; now < 2000; now += 100) {
    CHECK(schedule.due(now));
    schedule.advance(now + 10);
  }
  CHECK_EQ(schedule.missed(), 0);
  CHECK_EQ(schedule.nextNs(), 2000);
}

TEST("an overrun drops the deadlines it covered, counts them and keeps the phase") {
  TickSchedule schedule(1000, 100);
  // The tick of 1000 took until 1350: 1100, 1200 and 1300 are gone.
  schedule.advance(1350);
  CHECK_EQ(schedule.missed(), 3);
  CHECK_EQ(schedule.nextNs(), 1400);
  CHECK(!schedule.due(1399));
  // Exactly on a deadline counts as missed too: it cannot be met any more without a burst.
  schedule.advance(1500);
  CHECK_EQ(schedule.missed(), 4);
  CHECK_EQ(schedule.nextNs(), 1600);
}

TEST("deadlines that are passed over are not missed, and keep the phase") {
  TickSchedule schedule(1000, 100);
  schedule.advance(1010);
  schedule.pass(1490);
  CHECK_EQ(schedule.nextNs(), 1400);
  CHECK(!schedule.due(1399));
  CHECK_EQ(schedule.missed(), 0);
  // In the past: nothing is left out.
  schedule.pass(900);
  CHECK_EQ(schedule.nextNs(), 1400);
}

TEST("a new period counts from the last deadline") {
  TickSchedule schedule(1000, 100);
  schedule.advance(1000);
  schedule.setPeriod(400);
  CHECK_EQ(schedule.nextNs(), 1400);
  CHECK_EQ(schedule.missed(), 0);
}

TEST("the governor widens above its budget, narrows with room below, and stays within its bounds") {
  Governor governor(5000000, 0.01);
  uint64_t now = 0;
  uint64_t cpu = 0;
  CHECK(!governor.update(now, cpu));
  const auto second = [&](double share) {
    now += kSecond;
    cpu += static_cast<uint64_t>(share * 1e9);
    return governor.update(now, cpu);
  };
  CHECK(second(0.02));
  CHECK_EQ(governor.periodNs(), 10000000);
  // The excess of the first second is still owed.
  CHECK(!second(0.0055));
  CHECK_EQ(governor.periodNs(), 10000000);
  for (int i = 0; i < 10; ++i) second(0.0055);
  // Two thirds of it would be 0.83 %: within the budget but without room.
  CHECK_EQ(governor.periodNs(), 10000000);
  CHECK(second(0.0045));
  CHECK_EQ(governor.periodNs(), 6666666);
  CHECK(second(0.003));
  CHECK_EQ(governor.periodNs(), 5000000);
  CHECK(!second(0.0001));
  CHECK_EQ(governor.periodNs(), 5000000);
  for (int i = 0; i < 20; ++i) second(0.5);
  CHECK_EQ(governor.periodNs(), Governor::kMaxPeriodNs);
  CHECK(!second(0.5));
}

TEST("the budget holds for a whole run that began too expensive, and the rate recovers") {
  for (const double atFullRate : {0.012, 0.019, 0.03}) {
    Governor governor(5000000, 0.01);
    uint64_t now = 0;
    double cpu = 0;
    for (int i = 0; i <= 20; ++i) {
      governor.update(now, static_cast<uint64_t>(cpu));
      now += kSecond;
      cpu += atFullRate * 1e9 * 5e6 / static_cast<double>(governor.periodNs());
    }
    CHECK(cpu / static_cast<double>(now) < 0.01);
    // No more than twice as slow as the budget alone would ask for.
    CHECK(static_cast<double>(governor.periodNs()) < 2 * 5e6 * atFullRate / 0.01);
  }
}

TEST("others that use most of the budget do not starve what costs a fifth of it, and the budget holds") {
  // A sample of 140 us, 200 times a second; others use three quarters of the budget.
  Governor governor(5000000, 0.01);
  uint64_t now = 0;
  double own = 0;
  double others = 0;
  double samples = 0;
  for (int i = 0; i <= 40; ++i) {
    governor.update(now, static_cast<uint64_t>(own), static_cast<uint64_t>(others));
    now += kSecond;
    const double rate = 1e9 / static_cast<double>(governor.periodNs());
    own += rate * 140e3;
    others += 7.5e6;
    if (i > 5) samples += rate;
  }
  // A fifth of the budget is 14 samples a second; halving and doubling reach half of them at least.
  CHECK(samples / 35 > 7);
  CHECK((own + others) / static_cast<double>(now) < 0.0125);
}

TEST("the governor looks once a second and not at all without a budget") {
  Governor governor(5000000, 0.01);
  governor.update(0, 0);
  CHECK(!governor.due(kSecond / 2));
  CHECK(!governor.update(kSecond / 2, kSecond / 2));
  Governor off(5000000, -1);
  off.update(0, 0);
  CHECK(!off.update(kSecond, kSecond));
  CHECK_EQ(off.periodNs(), 5000000);
}

namespace {

using Ring = SpscRing<uint64_t, 64>;
constexpr uint64_t kItems = 100000;

void* produce(void* argument) {
  Ring* ring = static_cast<Ring*>(argument);
  for (uint64_t i = 1; i <= kItems;) {
    if (ring->push(i)) {
      ++i;
    } else {
      sched_yield();
    }
  }
  return nullptr;
}

}  // namespace

TEST("the ring hands over every item once and in order between two threads") {
  Ring ring;
  Thread thread;
  CHECK_EQ(thread.start(&produce, &ring), 0);
  uint64_t expected = 1;
  bool ordered = true;
  while (expected <= kItems) {
    uint64_t item = 0;
    if (!ring.pop(item)) {
      sched_yield();
      continue;
    }
    ordered &= item == expected;
    ++expected;
  }
  thread.join();
  CHECK(ordered);
}

TEST("a full ring refuses instead of overwriting") {
  Ring ring;
  for (uint64_t i = 0; i < 64; ++i) CHECK(ring.push(i));
  CHECK(!ring.push(64));
  uint64_t first = 99;
  CHECK(ring.pop(first));
  CHECK_EQ(first, 0);
  CHECK(ring.push(64));
}

TEST("the empty loop wakes about as often as asked") {
  const EmptyLoopResult loop = runEmptyLoop(2000000, 200000000);
  CHECK(loop.ticks > 30 && loop.ticks <= 101);
  CHECK(loop.cpuNs > 0);
}
