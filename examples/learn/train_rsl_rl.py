"""Train a task with rsl-rl through the adapter.

    python examples/learn/train_rsl_rl.py quadruped --updates 300 --out runs

Needs Gymnasium, PyTorch and rsl-rl-lib 5.
"""

from __future__ import annotations

import argparse

from rsl_rl.runners import OnPolicyRunner

from dalembert import learn

NETWORK = {"class_name": "MLPModel", "hidden_dims": [128, 64, 32], "activation": "elu", "obs_normalization": True}
SETTINGS = {
    "num_steps_per_env": 24, "save_interval": 100, "obs_groups": {"actor": ["policy"], "critic": ["policy"]},
    "multi_gpu": None, "critic": NETWORK,
    "actor": NETWORK | {"distribution_cfg": {"class_name": "GaussianDistribution", "init_std": 0.7}},
    "algorithm": {
        "class_name": "PPO", "num_learning_epochs": 5, "num_mini_batches": 4, "learning_rate": 1e-3, "gamma": 0.99,
        "lam": 0.95, "clip_param": 0.2, "entropy_coef": 0.005, "value_loss_coef": 1.0, "use_clipped_value_loss": True,
        "schedule": "adaptive", "desired_kl": 0.01, "max_grad_norm": 1.0, "rnd_cfg": None, "symmetry_cfg": None,
    },
}  # fmt: skip


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("task", choices=list(learn.TASKS))
    parser.add_argument("--updates", type=int, default=300)
    parser.add_argument("--envs", type=int, default=1024)
    parser.add_argument("--out", default=None)
    given = parser.parse_args()
    vec = (
        learn.task(given.task)
        .environment()
        .vector(given.envs, autoreset="same_step", arrays="torch", unsound="terminate")
    )
    runner = OnPolicyRunner(learn.rsl_rl(vec), SETTINGS, log_dir=given.out, device="cpu")
    runner.learn(given.updates, init_at_random_ep_len=True)


if __name__ == "__main__":
    main()
