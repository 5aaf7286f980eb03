//! A hash table that is emptied without touching its memory: each bucket bears the stamp of the round it was filled in,
//! and buckets with an older stamp count as empty.

/// Maps keys to values. The caller hashes; collisions go to the next bucket.
#[derive(Debug, Default)]
pub(crate) struct StampedTable<K, V> {
    buckets: Vec<Bucket<K, V>>,
    stamp: u32,
}

#[derive(Clone, Copy, Debug, Default)]
struct Bucket<K, V> {
    /// 0 in buckets that were never filled.
    stamp: u32,
    key: K,
    value: V,
}

impl<K: Copy + Default + Eq, V: Copy + Default> StampedTable<K, V> {
    /// Empties the table and makes room for so many entries. No more may be inserted until the next call: at most half
    /// of the buckets are in use, so every search ends.
    pub(crate) fn begin(&mut self, entries: usize) {
        let size = (entries * 2).next_power_of_two();
        if self.buckets.len() < size || self.stamp == u32::MAX {
            self.buckets = vec![Bucket::default(); size];
            self.stamp = 0;
        }
        self.stamp += 1;
    }

    /// The bucket of a key: the one that has it, or the empty one where it belongs.
    fn position(&self, hash: usize, key: K) -> usize {
        let mask = self.buckets.len() - 1;
        let mut index = hash & mask;
        loop {
            let bucket = &self.buckets[index];
            if bucket.stamp != self.stamp || bucket.key == key {
                return index;
            }
            index = (index + 1) & mask;
        }
    }

    /// The value of a key, if it has one.
    pub(crate) fn get(&self, hash: usize, key: K) -> Option<V> {
        let bucket = &self.buckets[self.position(hash, key)];
        (bucket.stamp == self.stamp).then_some(bucket.value)
    }

    /// The value of a key. If it has none, `vacant` becomes its value and `None` is returned.
    pub(crate) fn get_or_insert(&mut self, hash: usize, key: K, vacant: V) -> Option<&mut V> {
        let (index, stamp) = (self.position(hash, key), self.stamp);
        let bucket = &mut self.buckets[index];
        if bucket.stamp == stamp {
            return Some(&mut bucket.value);
        }
        *bucket = Bucket {
            stamp,
            key,
            value: vacant,
        };
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashMap;

    #[test]
    fn it_is_a_map_that_every_round_begins_empty() {
        let mut table = StampedTable::default();
        let mut state = 7_u32;
        for round in 0..200 {
            if round == 100 {
                table.stamp = u32::MAX;
            }
            table.begin(round);
            let mut map = HashMap::new();
            for value in 0..round {
                state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                let key = state >> 26;
                // Few hashes, many collisions.
                let hash = key as usize % 8;
                assert_eq!(table.get(hash, key), map.get(&key).copied());
                let known = table.get_or_insert(hash, key, value).copied();
                assert_eq!(known, map.get(&key).copied());
                map.entry(key).or_insert(value);
            }
        }
    }
}
