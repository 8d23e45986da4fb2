/* two_link: see two_link.h */
#include "two_link.h"

#include <math.h>

void two_link(const double q[2], const double v[2], const double a[2], double M[4], double tau[2])
{
    const double t0 = cos(q[1]);
    const double t1 = 0.4 * t0;
    const double t2 = 0.25 + t1;
    const double t3 = 0.16000000000000003 + t2;
    const double t4 = 1.5 * t3;
    const double t5 = 0.5 + t4;
    const double t6 = 0.5 * t0;
    const double t7 = 0.4 + t6;
    const double t8 = 0.6000000000000001 * t7;
    const double t9 = q[0] + q[1];
    const double t10 = cos(t9);
    const double t11 = 5.886000000000001 * t10;
    const double t12 = cos(q[0]);
    const double t13 = 17.1675 * t12;
    const double t14 = t11 + t13;
    const double t15 = a[0] * t5;
    const double t16 = a[1] * t8;
    const double t17 = t15 + t16;
    const double t18 = sin(q[1]);
    const double t19 = 0.30000000000000004 * t18;
    const double t20 = 2.0 * v[0];
    const double t21 = v[1] * t20;
    const double t22 = v[1] * v[1];
    const double t23 = t21 + t22;
    const double t24 = t19 * t23;
    const double t25 = t17 - t24;
    const double t26 = t14 + t25;
    const double t27 = v[0] * t19;
    const double t28 = v[0] * t27;
    const double t29 = a[0] * t8;
    const double t30 = 0.24000000000000005 * a[1];
    const double t31 = t29 + t30;
    const double t32 = t28 + t31;
    const double t33 = t11 + t32;
    M[0] = t5;
    M[1] = t8;
    M[2] = t8;
    M[3] = 0.24000000000000005;
    tau[0] = t26;
    tau[1] = t33;
}
