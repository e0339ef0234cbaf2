// Capacity, use and free units of an inventory, calculated as the service does.

/** Return the units of an inventory that can be allocated. */
export function capacity(inventory) {
  return Math.trunc((inventory.total - inventory.reserved) * inventory.allocation_ratio);
}

/** Return the largest amount that one request could take from an inventory. */
export function largest(inventory, used) {
  const room = Math.min(capacity(inventory) - used, inventory.max_unit);
  const amount = Math.floor(room / inventory.step_size) * inventory.step_size;
  return amount >= Math.max(inventory.min_unit, 1) ? amount : 0;
}

/** Return an empty sum, to which inventories are added. */
export function nothing() {
  return { total: 0, reserved: 0, capacity: 0, used: 0, free: 0, largest: 0, providers: 0 };
}

/** Add what an inventory has to a sum. */
export function add(sum, inventory, used) {
  const allocatable = capacity(inventory);
  sum.total += inventory.total;
  sum.reserved += inventory.reserved;
  sum.capacity += allocatable;
  sum.used += used;
  sum.free += Math.max(allocatable - used, 0);
  sum.largest = Math.max(sum.largest, largest(inventory, used));
  sum.providers += 1;
  return sum;
}

/** Return the share of the capacity that is used; above 1 if it is exceeded. */
export function share(sum) {
  if (sum.capacity > 0) return sum.used / sum.capacity;
  return sum.used > 0 ? Infinity : 0;
}
